"""dev.py KEY... : old corpus, expected name vs. verdict"""
import sys, os, glob, re, time, warnings
warnings.simplefilter('ignore'); os.environ['COURSE_PROGRESS']='p.json'
import torch; torch.set_num_threads(1)
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.naming.sources import run_source
from utils.layers.attention import MultiHeadAttention
keys=[k for k in sys.argv[1:] if k[0]=='X']; quiet='-q' in sys.argv
tot={}
ms=[]
for path in sorted(glob.glob('tests/quiz_corpus/*.txt')):
    for b in open(path).read().split('\n#= ')[1:]:
        head,src=b.split('\n',1); key,_,exp=head.partition(' ')
        if keys and key not in keys: continue
        ex=registry.load(key[1:3]).get(key)
        if ex is None: continue
        given={}
        if key[:3]=='X03': given={'attention':getattr(registry.load('03').get('X03-1'),'reference',None),'SelfAttention':getattr(registry.load('03').get('X03-2'),'reference',None)}
        if key[:3]=='X07' and key!='X07-2': given={'MultiHeadAttention':MultiHeadAttention,'FFN':getattr(registry.load('07').get('X07-2'),'reference',None)}
        try: f=run_source(src,ex.name,**given)
        except Exception as e: print('UNDEFINED',head,e); continue
        t=time.perf_counter(); v=diagnose(ex,f); ms.append(1000*(time.perf_counter()-t))
        c=tot.setdefault(key,{})
        want='right' if not exp else 'wrong'
        if exp=='remark': want='remark'
        c[(want,str(v.status))]=c.get((want,str(v.status)),0)+1
        bad=(want=='right')!=(v.passed) and want!='remark'
        if bad: print('### BAD',head,'->',v.status,v.mistake,'|',v.message[:300],'\n',src[:600])
        elif not quiet and exp and not v.passed and v.mistake!=exp: print('---',head,'->',v.status,v.mistake,'|',v.message[:260].replace('\n',' / '))
for k,c in sorted(tot.items()): print(k,c)
ms.sort(); 
if ms: print('ms',ms[len(ms)//2],ms[int(.95*len(ms))],ms[-1])
