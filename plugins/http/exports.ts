// Exports for other plugins.
export type { Act, ActCall } from './change/act-without-request.ts'
export { type ChangeEach, type Part, PartRefused, type PartResult } from './change/change-each.ts'
export { CommittedMap } from './change/committed-map.ts'
export {
  type Decision,
  type DecisionSink,
  decisionSlot,
  type NamedResource,
  requiredDecisionSlot
} from './change/decision.ts'
export { type ExpiryNotice, expiryNotices } from './change/expiry-notices.ts'
export { listChanges } from './change/list-changes.ts'
export {
  type Expiring,
  type ExpiryPage,
  type ExpirySource,
  expirySlot,
  type Notice,
  type NoticeKind,
  type NoticeSource,
  type NoticeSubject,
  type Notices,
  noticeKind,
  noticeKindSlot,
  noticeKindsOf
} from './change/notice-kind-slot.ts'
export type { RecordAs } from './change/record-as.ts'
export { type RecordNames, recordNamesSlot } from './change/record-names.ts'
export { withoutVeto } from './change/without-veto.ts'
export {
  bootstrapRequired,
  csrfContentTypeRequired,
  csrfHeaderRequired,
  csrfOriginMismatch,
  csrfOriginRequired,
  reauthenticationRequired,
  resourceChanged,
  unknownField
} from './codes.ts'
export { openHasRows } from './list/has-rows.ts'
export { IdFilter, UserFilter } from './list/id-filter.ts'
export { defineList, type Listing, type PagedRows } from './list/list-route.ts'
export { listFilters, recordFields } from './list/record-fields.ts'
export * from './list/record-slots.ts'
export type { Mounted, MountedPlugins } from './mounted-plugins.ts'
export { type Assets, openAssets } from './pages/assets.ts'
export { Html, html, page } from './pages/html.ts'
export { type Site, siteSlot } from './pages/site-slot.ts'
export { reauthenticationFault, refuseOtherOrigin, refuseWithoutCsrfHeader } from './pipeline/guard.ts'
export { type FindTracer, type Tracer, tracerSlot } from './pipeline/tracer-slot.ts'
export { etagText } from './request/etag.ts'
export { fetchFailure } from './request/fetch-failure.ts'
export { FormFile } from './request/form-body.ts'
export { openNetworks } from './request/networks.ts'
export { parseTime, TimeText } from './request/time-text.ts'
export { isSampled } from './request/traceparent.ts'
export { violationsOf } from './request/violations.ts'
export { roleSchema } from './role-schema.ts'
export { callersOf, hasRole, managesAll, managesUsers, seesAll } from './roles.ts'
export { allScopes, hasScope, scopesIn, scopesOf } from './scopes.ts'
export type { HostCheck } from './server/host-check.ts'
export { openStoreWaitServer } from './server/store-wait-server.ts'
export type { PublicOrigin } from './settings.ts'
export { defineStream, type ServerEvent } from './streams/stream-route.ts'
