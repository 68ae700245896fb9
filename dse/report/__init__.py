"""The report: one file that explains a result in any browser, without a network.

* `scales`: colour scales, axes, ticks and the place of infinity, as plotly.js takes them
* `front_view`: the designs in pictures, and the looks of each column
* `figures`: the front for scripts, by plotly
* `panels`: panels of a run and of a design, and the sections that models write
* `plots`: plots of curves, regions and convergence, and of one part of a section
* `overview`: the answer, its reasons, its confidence and the key numbers of a run, as data
* `payload`: the data of the page as JSON, and the study of a selection
* `page_assets`: style, scripts and policy of every page
* `comparison`: the page of two runs, with ``comparison.html`` and ``comparison.js``
* `page`: the page, with ``page.html`` and ``*.js``; it needs jinja2
"""
