"""Results as pictures and as text: `chart` prepares one, `Chart` saves, prints and shows it."""

from sparkleene.charts.chart import Chart
from sparkleene.charts.data import Series
from sparkleene.charts.make import chart
from sparkleene.charts.several import Charts
from sparkleene.charts.times import Slide

__all__ = ["Chart", "Charts", "Series", "Slide", "chart"]
