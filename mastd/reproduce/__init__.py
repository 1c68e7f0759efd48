"""The papers' numbers beside ours: one package each, ids of ``mastd reproduce`` in brackets.

``jin_2012`` (004), ``kang_2014`` (000), ``kang_yoon`` (001), ``song_kim`` (002), ``kr_10_1310276`` (003);
their titles are in docs/theory.md.
"""
