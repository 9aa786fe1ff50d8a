// What server and agent share: figures as a page of Prometheus' text format, and where it is served.
export type { Metric } from '../../kernel/metrics.ts'
export { openListener } from './listener.ts'
export { openScrape } from './scrape.ts'
