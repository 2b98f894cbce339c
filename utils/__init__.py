"""The course's small library.  Each file is read in one sitting; importing one does no work.

runtime    seed, device, threads            attention  the attention functions and layers
masks      who may look at whom             plots      figures with words on both axes
notebook   sliders and source in a cell     setup      what the first cell of a notebook calls
quiz       checks that name the mistake     explorer   interactive attention maps
"""
