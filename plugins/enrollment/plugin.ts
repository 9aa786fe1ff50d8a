import { asFunction } from 'awilix'
import { messages, Redeem, redeemCodes } from '../../agent/wire/enrollment.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { respond } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import { pinnedSlot } from '../certificate/exports.ts'
import { removingSlot, revokingSlot } from '../clients/exports.ts'
import { type Act, recordFieldSlots, recordOptionSlots } from '../http/exports.ts'
import { installSlot } from './command-exports.ts'
import { commands } from './commands.ts'
import { openEnrollmentKeys } from './enrollment-keys.ts'
import { enrollmentNotFound, openEnrollments } from './enrollments.ts'
import { Enrollment, EnrollmentKey } from './entities.ts'
import { openKeyMetrics } from './key-metrics.ts'
import { type KeyRouteDeps, routes as keyRoutes } from './key-routes.ts'
import { enrollmentKeyNotFound } from './key-schema.ts'
import { Enrollment0001 } from './migrations/0001-enrollment.ts'
import { redeem, welcomeParts } from './redeem.ts'
import { type RouteDeps, routes } from './routes.ts'
import { invalidEnrollmentTtl, keys } from './schema.ts'

interface Deps extends RouteDeps, KeyRouteDeps {
  readonly act: Act
  readonly endpoint: Endpoint
}

export default definePlugin<Deps>({
  name: 'enrollment',
  version: '1.0.0',
  description: 'One-time codes and enrollment keys that make edge hosts clients.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', certificate: '^1.0.0', clients: '^1.0.0', 'advertised-endpoint': '^1.0.0' },
  keys,
  codes: [invalidEnrollmentTtl, enrollmentNotFound, enrollmentKeyNotFound, ...redeemCodes],
  store: {
    entities: [Enrollment, EnrollmentKey],
    migrations: [{ name: '0001-enrollment', class: Enrollment0001 }]
  },
  services: {
    enrollments: asFunction(openEnrollments).singleton(),
    enrollmentKeys: asFunction(openEnrollmentKeys).singleton()
  },
  slots: [recordFieldSlots.enrollment, recordOptionSlots.enrollment, installSlot],
  fills: [
    connectionSlot.fillWith((deps: Deps) => ({ welcome: ({ clientId }) => welcomeParts(deps, clientId) })),
    pinnedSlot.fillWith(({ enrollments }: Deps) => enrollments.countUnused),
    pinnedSlot.fillWith(({ enrollmentKeys }: Deps) => enrollmentKeys.countActive),
    revokingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteUnused),
    removingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteAll),
    revocationSlot.fill({
      table: 'enrollment',
      sql: 'delete from enrollment where used_at is null',
      isUnconditional: true
    }),
    revocationSlot.fill({
      table: 'enrollment_key',
      title: 'deleted enrollment keys',
      sql: `delete from enrollment_key where not exists (select 1 from old.enrollment_key o where o.id = enrollment_key.id)
        returning label as name`
    }),
    revocationSlot.fill({
      table: 'enrollment_key',
      sql: `update enrollment_key set used = (select o.used from old.enrollment_key o where o.id = enrollment_key.id)
        where exists (select 1 from old.enrollment_key o where o.id = enrollment_key.id)`
    }),
    metricsSlot.fillWith(openKeyMetrics)
  ],
  messages,
  preAuthHandlers: [respond(Redeem, redeem)],
  routes: [...routes, ...keyRoutes],
  commands
})
