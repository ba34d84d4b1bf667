import json,random,sys
from sacrebleu.metrics import TER
random.seed(5)
W="the a cat dog man on in mat sat runs red big and with of house 3.5 it's he's 你好 世界 、 ， ( ) . , ! ? - 10-12 &amp; U.S.".split()
def sent(n): return [random.choice(W) for _ in range(n)]
def noisy(s):
    s=list(s)
    for _ in range(random.randint(0,4)):
        k=random.random()
        if not s: break
        i=random.randrange(len(s))
        if k<.25: s[i]=random.choice(W)
        elif k<.5: del s[i]
        elif k<.65: s.insert(i,random.choice(W))
        else:
            n=random.randint(1,6); j=random.randrange(len(s)+1); p=s[i:i+n]; rest=s[:i]+s[i+n:]; s=rest[:j]+p+rest[j:]
    if random.random()<.2: s=[x.upper() if random.random()<.3 else x for x in s]
    return s
rows=[]
for k in range(200):
    n=random.choice([0,1,2,3,5,8,12,20,35]) if k<197 else random.choice([60,80])
    ref=sent(n); hyp=noisy(ref) if random.random()<.9 else sent(random.randint(0,20))
    if k>=197: hyp=noisy(ref[30:]+ref[:30])
    refs=[" ".join(ref)]+[" ".join(noisy(ref)) for _ in range(random.choice([0,0,1,2]))]
    rows.append({"hyp":" ".join(hyp),"refs":refs})
opts=[dict(),dict(normalized=True),dict(no_punct=True),dict(case_sensitive=True),dict(normalized=True,asian_support=True),dict(normalized=True,no_punct=True,asian_support=True)]
ms=[TER(**o) for o in opts]
for r in rows:
    r["edits"]=[]; r["length"]=[]
    for m in ms:
        s=m.sentence_score(r["hyp"],r["refs"]); r["edits"].append(int(s.num_edits)); r["length"].append(s.ref_length)
corp=[]
one=[r for r in rows]
for m in ms:
    s=m.corpus_score([r["hyp"] for r in rows],[[r["refs"][0] for r in rows]])
    corp.append({"score":s.score,"signature":str(m.get_signature())})
with open(sys.argv[1],'w') as h:
    h.write(json.dumps({"corpus":corp})+"\n")
    for r in rows: h.write(json.dumps(r,ensure_ascii=False)+"\n")
