// Shared by server and agent: collects metrics as a page of Prometheus' text format, and serves it.
export { type Check, openHostCheck, toReadinessAnswer, tryListen } from '../http/listener-exports.ts'
export { buildInfo } from './build-info.ts'
export { livePage, readyPage } from './health.ts'
export { openListener } from './listener.ts'
export { openScrape } from './scrape.ts'
