//! SEQ(P, T+) for a number of P in Varpulis' HAMLET: the arguments are the file of event types, a line each, and the
//! number of queries. Prints the trends of the first query, events, and seconds.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use smallvec::smallvec;
use varpulis_core::Event;
use varpulis_hamlet::aggregator::{HamletAggregator, HamletConfig, QueryRegistration};
use varpulis_hamlet::greta::GretaAggregate;
use varpulis_hamlet::template::TemplateBuilder;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let queries: u32 = arguments[2].parse().unwrap();
    let mut builder = TemplateBuilder::new();
    for query in 0..queries {
        builder.add_sequence(query, &[format!("P{query}").as_str(), "T"]);
        builder.add_kleene(query, "T", 1);
    }
    let template = builder.build();
    let config = HamletConfig {
        max_graphlets: 0,
        max_snapshots: 0,
        ..HamletConfig::default()
    };
    let kleene = template.type_index("T").unwrap();
    let firsts: Vec<u16> = (0..queries)
        .map(|query| template.type_index(&format!("P{query}")).unwrap())
        .collect();
    let mut aggregator = HamletAggregator::new(config, template);
    for query in 0..queries {
        aggregator.register_query(QueryRegistration {
            id: query,
            event_types: smallvec![firsts[query as usize], kleene],
            kleene_types: smallvec![kleene],
            aggregate: GretaAggregate::CountTrends,
        });
    }
    let text = fs::read_to_string(&arguments[1]).unwrap();
    let events: Vec<_> = text.lines().map(|name| Arc::new(Event::new(name))).collect();
    let begin = Instant::now();
    for event in &events {
        aggregator.process(event.clone());
    }
    let results = aggregator.flush();
    let seconds = begin.elapsed().as_secs_f64();
    let first = results.iter().find(|one| one.query_id == 0);
    println!("{} {} {}", first.map_or(0, |one| one.trend_count), events.len(), seconds);
}
