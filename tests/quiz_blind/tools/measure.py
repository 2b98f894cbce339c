"""measure.py FOLDER OUT.json : run all blind solutions, store verdicts"""
import sys, json, glob, os, time, warnings, re
warnings.simplefilter('ignore')
os.environ['COURSE_PROGRESS']='progress_measure.json'
import torch; torch.set_num_threads(1)
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.naming.sources import run_source
from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention
folder, out = sys.argv[1:3]
only = sys.argv[3:]
import tests.test_quiz_corpus as tq
rows=[]
for path in sorted(glob.glob(f'{folder}/*.txt')):
    key=os.path.basename(path)[:-4]
    if only and key not in only: continue
    ex=registry.get(key,'X')
    given={} if key=='X07-2' else dict(tq.GIVEN.get(key[:3],{}))
    if key=='X04-3': given|={'scaled_dot_product_attention':scaled_dot_product_attention,'attention':scaled_dot_product_attention}
    if key.startswith('X05'): 
        from utils.layers.positions import sinusoidal_encoding
        given|={'sinusoidal_encoding':sinusoidal_encoding,'sinusoidal_pe':registry.get('X05-1','X').reference}
    if key.startswith('X06'): given|={'causal_mask':registry.get('X06-1','X').reference,'scaled_dot_product_attention':scaled_dot_product_attention}
    text=open(path).read()
    for n,block in enumerate(re.split(r'(?m)^#= ',text)[1:]):
        head,src=block.split('\n',1)
        label='right' if head.startswith('right') else 'wrong'
        row={'key':key,'n':n,'label':label,'about':head.partition(':')[2].strip(),'source':src}
        try: f=run_source(src,ex.name,**given)
        except Exception as e:
            row|={'status':'does not define','message':repr(e),'mistake':None}; rows.append(row); continue
        t=time.perf_counter()
        try:
            v1=diagnose(ex,f,attempt=1); row['ms']=1000*(time.perf_counter()-t)
            v=diagnose(ex,f)
        except Exception as e:
            import traceback
            row|={'status':'ENGINE FAILED','message':traceback.format_exc()[-600:],'mistake':None}; rows.append(row); continue
        row|={'status':str(v.status),'mistake':v.mistake,'message':v.message,'first':v1.message,'remarks':list(v.remarks)}
        rows.append(row)
json.dump(rows,open(out,'w'),indent=1,ensure_ascii=False)
import collections
for key in dict.fromkeys(r['key'] for r in rows):
    mine=[r for r in rows if r['key']==key]
    w=[r for r in mine if r['label']=='wrong']; g=[r for r in mine if r['label']=='right']
    print(key,'wrong',len(w),dict(collections.Counter(r['status'] for r in w)),'| right',len(g),dict(collections.Counter(r['status'] for r in g)))
ms=sorted(r['ms'] for r in rows if 'ms' in r)
if ms: print('ms median',ms[len(ms)//2],'p95',ms[int(.95*len(ms))],'max',ms[-1])
