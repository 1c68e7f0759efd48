"""What people forward after a run: one page, as HTML, PDF or picture.

``reading`` a record → pure ``…_pictures`` and tables → ``blocks`` of a page → ``html_page`` or ``sheets``.
"""
