"""Results as pictures and as text: `chart` prepares one, `Chart` saves, prints and shows it."""

from sparkleene.charts.chart import Chart
from sparkleene.charts.data import Series
from sparkleene.charts.drawable import Drawable
from sparkleene.charts.funnel import FunnelChart, funnel_chart
from sparkleene.charts.make import chart
from sparkleene.charts.several import Charts
from sparkleene.charts.times import Slide

__all__ = ["Chart", "Charts", "Drawable", "FunnelChart", "Series", "Slide", "chart", "funnel_chart"]
