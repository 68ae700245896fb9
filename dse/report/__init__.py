"""The report: one file that explains a result in any browser, without a network.

* `scales`: colours, axes, ticks, the place of infinity, and numbers and texts for plotly.js
* `front_view`: the designs in pictures, an even choice of many, and the looks of each column
* `figures`: the front for scripts, by plotly
* `panels`: panels (a heading with pictures and tables) of a run, a design and a model's section
* `plots`: single pictures: curves, regions, convergence, and a section's plot, heatmap or tree
* `overview`: the answer of a run, its reasons and confidence, how its search ended, key numbers
* `payload`: the data of the page as JSON, and the study of a selection
* `page_assets`: style, scripts, templates, embedded data and policy of every page
* `comparison`: the page of two runs, with ``comparison.html`` and ``comparison.js``
* `page`: the page, its provenance as lines, with ``page.html`` and ``*.js``; it needs jinja2
"""
