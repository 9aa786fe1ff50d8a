import { asFunction } from 'awilix'
import { messages, Redeem, redeemCodes } from '../../agent/wire/enrollment.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { revocationSlot } from '../../kernel/store/revocation.ts'
import { respond } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import { removingSlot, revokingSlot } from '../clients/exports.ts'
import { recordFieldSlots, recordOptionSlots } from '../http/exports.ts'
import { installSlot } from './command-exports.ts'
import { commands } from './commands.ts'
import { enrollmentNotFound, openEnrollments } from './enrollments.ts'
import { Enrollment } from './entities.ts'
import { Enrollment0001 } from './migrations/0001-enrollment.ts'
import { redeem, welcomeParts } from './redeem.ts'
import { type RouteDeps, routes } from './routes.ts'
import { invalidEnrollmentTtl, keys } from './schema.ts'

interface Deps extends RouteDeps {
  readonly endpoint: Endpoint
}

export default definePlugin<Deps>({
  name: 'enrollment',
  version: '1.0.0',
  description: 'One-time codes that make edge hosts clients.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', 'advertised-endpoint': '^1.0.0' },
  keys,
  codes: [invalidEnrollmentTtl, enrollmentNotFound, ...redeemCodes],
  store: { entities: [Enrollment], migrations: [{ name: '0001-enrollment', class: Enrollment0001 }] },
  services: { enrollments: asFunction(openEnrollments).singleton() },
  slots: [recordFieldSlots.enrollment, recordOptionSlots.enrollment, installSlot],
  fills: [
    connectionSlot.fillWith((deps: Deps) => ({ welcome: ({ clientId }) => welcomeParts(deps, clientId) })),
    revokingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteUnused),
    removingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteAll),
    revocationSlot.fill({
      table: 'enrollment',
      sql: 'delete from enrollment where used_at is null',
      isUnconditional: true
    })
  ],
  messages,
  preAuthHandlers: [respond(Redeem, redeem)],
  routes,
  commands
})
