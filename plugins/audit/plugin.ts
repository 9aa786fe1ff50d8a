import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { requiredDecisionSlot } from '../http/exports.ts'
import { openAuditLog } from './audit-log.ts'
import { commands } from './commands.ts'
import { Entry } from './entities.ts'
import { Audit0001 } from './migrations/0001-entry.ts'
import { keys } from './retention.ts'
import { type RouteDeps, routes } from './routes.ts'
import { invalidOutcome } from './schema.ts'

const secondMs = 1_000
const minuteMs = 60_000

export default definePlugin<RouteDeps>({
  name: 'audit',
  version: '1.0.0',
  description: 'Records changes and denials.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  keys,
  codes: [invalidOutcome],
  store: {
    entities: [Entry],
    migrations: [{ name: '0001-entry', class: Audit0001 }]
  },
  services: { auditLog: asFunction(openAuditLog).singleton() },
  fills: [
    requiredDecisionSlot.fillWith(({ auditLog }: RouteDeps) => auditLog.sink),
    metricsSlot.fillWith(({ auditLog }: RouteDeps) => auditLog.metrics)
  ],
  routes,
  commands,
  async start({ deps: { auditLog, clock, control, log }, defer }) {
    await auditLog.load()
    defer(auditLog.release)
    const report = (error: unknown) =>
      log.error(
        'audit.not_counted',
        `could not write counts of refusals, retrying in a second: ${String(error)}`
      )
    defer(clock.every(secondMs, () => void auditLog.flush().catch(report)))
    const tidy = (): Promise<void> => control.servers.onOne('audit.retention', auditLog.tidy)
    defer(clock.every(minuteMs, tidy))
  }
})
