import json,sys
rows=json.load(open(sys.argv[1])); out=sys.argv[2]
keys=list(dict.fromkeys(r['key'] for r in rows))
groups=[keys[0::3],keys[1::3],keys[2::3]]
for g,ks in enumerate(groups):
    with open(f'{out}{g}.md','w') as f:
        for r in rows:
            if r['key'] in ks and r['label']=='wrong' and r['status']!='passed':
                f.write(f"## {r['key']}#{r['n']}\nWriter's account of the mistake: {r['about']}\n```python\n{r['source'].strip()}\n```\nVerdict status: {r['status']}\nMessage: {r['message']}\n"+(f"Remarks: {r.get('remarks')}\n" if r.get('remarks') else '')+"\n")
