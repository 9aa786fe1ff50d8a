// The periodic work of the plugin, on one server: it looks at clients, reports what is due, delivers, and deletes what is old.
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Channel, plainHostOf } from './channel.ts'
import type { Deliveries } from './deliveries.ts'
import type { Dispatcher, DispatcherDeps } from './dispatcher.ts'
import type { BackupAge } from './kinds/backup-age.ts'
import type { Edges } from './kinds/edges.ts'
import type { Expiries } from './kinds/expiries.ts'
import type { FailedRules } from './kinds/failed-rules.ts'
import type { NotificationList } from './notification-list.ts'
import type { Objects } from './objects.ts'
import type { config } from './settings.ts'

export interface WorkDeps extends DispatcherDeps, Kernel<typeof config> {
  readonly objects: Objects
  readonly dispatcher: Dispatcher
  readonly deliveries: Deliveries
  readonly notificationList: NotificationList
  readonly edges: Edges
  readonly failedRules: FailedRules
  readonly expiries: Expiries
  readonly backupAge: BackupAge
  readonly periodicWork: PeriodicWork
}

export interface PeriodicWork {
  start(defer: (release: Release) => void): Promise<void>
}

const deliverMs = 2_000
const lookMs = 10_000
const minuteMs = 60_000

export function openPeriodicWork(deps: WorkDeps): PeriodicWork {
  const { clock, control, store, log, dispatcher, objects, messages, deliveries, edges } = deps
  const task = 'notify.send' // one task, so that one server does everything

  const logLate = (error: unknown): void =>
    log.warn('notify.round_failed', `notifications are late, and retried: ${reasonOf(error)}`)
  const onOne = (work: () => Promise<void>) => (): Promise<void> =>
    control.servers.onOne(task, work).catch(logLate)

  async function deliver(): Promise<void> {
    await deps.failedRules.look().catch(logLate)
    await dispatcher.round()
  }

  async function look(): Promise<void> {
    await edges.look()
    let isMore = await store.read(objects.hasDue)
    while (isMore) isMore = await store.change(em => objects.reportDue(edges, em))
  }

  async function syncChannels(): Promise<void> {
    const hosts = dispatcher.channels().map(channel => ({ name: channel.name, plainHost: hostOf(channel) }))
    await store.change(em => deliveries.syncChannels(hosts, em))
  }

  /** Without a readable secret the host is unknown; each delivery then names the fault. */
  function hostOf(channel: Channel): string | null {
    try {
      return plainHostOf(channel)
    } catch (error) {
      logLate(error)
      return null
    }
  }

  async function tidy(): Promise<void> {
    const tidyObjects = (): Promise<void> => store.change(objects.tidy)
    for (const work of [deps.expiries.report, deps.backupAge.look, syncChannels, tidyObjects])
      await work().catch(logLate) // what fails delays nothing else
    let isMore = true
    while (isMore) isMore = await store.change(messages.prune)
  }

  return {
    async start(defer) {
      deps.kindRegistry.connect()
      await onOne(tidy)()
      defer(dispatcher.stop)
      defer(clock.every(deliverMs, onOne(deliver)))
      defer(clock.every(lookMs, onOne(look)))
      defer(clock.every(minuteMs, onOne(tidy)))
    }
  }
}
