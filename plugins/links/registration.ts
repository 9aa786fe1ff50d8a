// The parts of the plugin that keep links: tables, slots, messages, routes and timers.
import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import type { Kernel, PeerCall, Scope } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { type Clients, changedSlot, removingSlot, revokingSlot } from '../clients/exports.ts'
import {
  documentSchemaSlot,
  listFilterSlots,
  listOptionSlots,
  noticeKind,
  recordFieldSlots
} from '../http/exports.ts'
import {
  journalKindSlot,
  portReservationSlot,
  type Rules,
  removedSlot,
  ruleFollowerSlot,
  stateSlot
} from '../rules/exports.ts'
import { invalidLink, linkNoEndpoint, linkNotFound } from './codes.ts'
import { endpointSchema, linkSchema } from './document-schemas.ts'
import { endpointField, openPortReservation } from './endpoint.ts'
import { LinkEndpoint, LinkKey, LinkRow, LinkUse, SentSettings } from './entities.ts'
import { type LinkKeys, openLinkKeys } from './link-keys.ts'
import { openLinkKind } from './link-object.ts'
import { type LinkRows, openLinkRows } from './link-rows.ts'
import { openLinks } from './links.ts'
import { Links0001 } from './migrations/0001-links.ts'
import type { RouteDeps } from './routes.ts'
import { openRuleLinks, type RuleLinks } from './rule-links.ts'
import { sendNewSettings } from './sent-settings.ts'
import type { keys } from './settings.ts'
import { type LinkNotice, openLinkNotice } from './state/link-notice.ts'
import { type LinkReports, openLinkReports } from './state/link-reports.ts'
import { type LinkStates, openLinkStates } from './state/link-states.ts'
import { openLinkTests } from './state/link-tests.ts'
import { openMetrics } from './state/metrics.ts'
import { KeyReport, StatusReport } from './wire.ts'

const roundMs = 1_000
const sweepMs = 60_000

export interface LinkDeps extends Kernel<typeof keys>, RouteDeps {
  readonly clients: Clients
  readonly rules: Rules
  readonly linkReports: LinkReports
  readonly linkNotice: LinkNotice
  readonly linkStates: LinkStates
  readonly linkRows: LinkRows
  readonly ruleLinks: RuleLinks
  readonly resendLinks: LinkRows['resend']
}

export const codes = [linkNotFound, linkNoEndpoint, invalidLink]

export const store = {
  entities: [LinkRow, LinkUse, LinkEndpoint, LinkKey, SentSettings],
  migrations: [{ name: '0001-links', class: Links0001 }]
}

export const services = {
  linkReports: asFunction(openLinkReports).singleton(),
  linkNotice: asFunction(openLinkNotice).singleton(),
  linkStates: asFunction(openLinkStates).singleton(),
  linkRows: asFunction(openLinkRows).singleton(),
  ruleLinks: asFunction(openRuleLinks).singleton(),
  resendLinks: asFunction(({ linkRows }: LinkDeps) => linkRows.resend).singleton(),
  linkKeys: asFunction(openLinkKeys).singleton(),
  linkTests: asFunction(openLinkTests).singleton(),
  links: asFunction(openLinks).singleton()
}

export const slots = [recordFieldSlots.link, listFilterSlots.link, listOptionSlots.link]

export const fills = [
  objectKindSlot.fillWith(openLinkKind),
  ruleFollowerSlot.fillWith(({ ruleLinks }: LinkDeps) => ({ errors: [linkNoEndpoint], ...ruleLinks })),
  removedSlot.fillWith(({ ruleLinks }: LinkDeps) => ruleLinks.ruleRemoved),
  stateSlot.fillWith(({ linkStates }: LinkDeps) => linkStates.ruleChanged),
  portReservationSlot.fillWith(openPortReservation),
  journalKindSlot.fill('link'),
  recordFieldSlots.client.fillWith(endpointField),
  changedSlot.fillWith(
    ({ linkRows }: LinkDeps) =>
      ({ id }, em) =>
        linkRows.resend(id, em)
  ),
  revokingSlot.fillWith(({ linkRows }: LinkDeps) => linkRows.clientRevoked),
  removingSlot.fillWith(({ linkRows }: LinkDeps) => linkRows.clientRemoved),
  connectionSlot.fillWith(({ linkReports, linkStates }: LinkDeps) => ({
    joined: linkReports.joined,
    left: peer => linkStates.judge(linkReports.left(peer))
  })),
  noticeKind('link_down', ({ linkNotice }: LinkDeps) => linkNotice.source),
  metricsSlot.fillWith(openMetrics),
  documentSchemaSlot.fill(endpointSchema),
  documentSchemaSlot.fillWith(linkSchema)
]

export const handlers = [
  respond(KeyReport, ({ peer, deps }: PeerCall<{ readonly linkKeys: LinkKeys }>, report) =>
    deps.linkKeys.receive(peer, report)
  ),
  respond(
    StatusReport,
    async ({ peer, deps }: PeerCall<Pick<LinkDeps, 'linkReports' | 'linkStates'>>, { links }) => {
      deps.linkStates.judge(await deps.linkReports.receive(peer, links))
      return {}
    }
  )
]

export async function startLinks({ deps, defer }: Pick<Scope<LinkDeps>, 'deps' | 'defer'>): Promise<void> {
  const { store, clock, control, ruleLinks, linkStates, linkKeys } = deps
  await store.change(async em => {
    await ruleLinks.sweep(em)
    await sendNewSettings(deps, em)
  })
  defer(clock.every(roundMs, linkStates.runRound))
  const sweep = async (): Promise<void> => {
    await linkStates.sweep()
    await linkKeys.switchDue()
  }
  defer(clock.every(sweepMs, () => control.servers.onOne('links.sweep', sweep)))
}
