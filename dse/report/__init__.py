"""The report: one file that explains a result in any browser, without a network.

* `scales`: colours, titles and ticks, and the place of infinity
* `front_view`: the designs in pictures, and the looks of each column
* `figures`: the front for scripts, by plotly
* `panels`: pictures and tables of a run, of a design and of sections
* `plots`: curves, optimization regions, convergence, and the pictures of sections
* `overview`: the answer, its reasons and its confidence, as data
* `payload`: the data of the page as JSON, and the study of a selection
* `page_assets`: style, scripts and policy of every page
* `comparison`: the page of two runs, with ``comparison.html`` and ``comparison.js``
* `page`: the page, with ``page.html`` and ``*.js``; it needs jinja2
"""
