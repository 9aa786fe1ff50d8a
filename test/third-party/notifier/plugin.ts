// Tells users about their clients, rules and quotas by a POST to their own URL.
import { asFunction, consolePageSlot, definePlugin, metricsSlot, users } from 'sluice/plugin'
import { forget, openDelivery } from './delivery.ts'
import { type Deps, section } from './deps.ts'
import { Choice, Note, WatchedClient } from './entities.ts'
import { failedRules, openClientWatch, quotaLevels } from './events.ts'
import { Notifier0001 } from './migrations/0001-notifier.ts'
import { command, notAllowed, noUrl, routes } from './routes.ts'

const metrics = metricsSlot.fillWith(({ store }: Deps) => async () => {
  const samples = [{ labelValues: [], value: await store.read(em => em.count(Note)) }]
  return [{ name: 'notifier_notes_waiting', type: 'gauge', help: 'Waiting notes.', labels: [], samples }]
})

const page = consolePageSlot.fill({
  name: 'notifier',
  title: { en: 'My notes', de: 'Meine Mitteilungen' },
  element: 'notifier-page',
  module: new URL('./console/page.js', import.meta.url)
})

const pollMs = 5000

export default definePlugin<Deps>({
  name: 'notifier',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', quota: '^1.0.0', rules: '^1.0.0', secrets: '^1.0.0', users: '^1.0.0' },
  config: section,
  codes: [notAllowed, noUrl],
  store: {
    entities: [Choice, Note, WatchedClient],
    migrations: [{ name: '0001-notifier', class: Notifier0001 }]
  },
  services: { delivery: asFunction(openDelivery).singleton() },
  fills: [
    failedRules,
    quotaLevels,
    users.disableSlot.fill(({ id }, em) => forget(id, em)),
    users.removalSlot.fill({ remove: ({ id }, em) => forget(id, em).then(() => ({ ids: [] })) }),
    metrics,
    page
  ],
  routes,
  commands: [command],
  async start({ deps, deps: { clock, control, delivery }, defer }) {
    const watch = openClientWatch(deps)
    defer(delivery.stop)
    defer(clock.every(pollMs, delivery.wake))
    defer(clock.every(pollMs, () => control.servers.onOne('notifier.watch', watch)))
  }
})
