// Pages on the metrics listener, and the answers of those about health.
export { type Answer, type Check, live, readinessOf } from '../http/listener-exports.ts'
export { livePage, readyPage } from './health.ts'
export { type Page, pageSlot } from './page.ts'
