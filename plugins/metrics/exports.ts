// Pages on the metrics listener, and the answers of those about health.
export { type Answer, type Check, live, livePage, readinessOf, readyPage } from './health.ts'
export { type Page, pageSlot } from './page.ts'
