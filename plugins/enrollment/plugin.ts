import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'
import { type Clients, removingSlot, revokingSlot } from '../clients/exports.ts'
import { codes } from './codes.ts'
import { commands } from './commands.ts'
import { type Enrollments, openEnrollments } from './enrollments.ts'
import { Enrollment } from './entities.ts'
import { Enrollment0001 } from './migrations/0001-enrollment.ts'
import { redeem, welcomeParts } from './redeem.ts'
import { unusedCodes } from './revocation.ts'
import { routes } from './routes.ts'
import { keys } from './schema.ts'
import { messages, Redeem } from './wire.ts'

interface Deps extends Kernel<typeof keys> {
  readonly clients: Clients
  readonly endpoint: Endpoint
  readonly enrollments: Enrollments
}

export default definePlugin<Deps>({
  name: 'enrollment',
  version: '1.0.0',
  kernel: '^1.0.0',
  needs: { clients: '^1.0.0', 'advertised-endpoint': '^1.0.0' },
  keys,
  codes,
  store: {
    entities: [Enrollment],
    migrations: [{ name: '0001-enrollment', class: Enrollment0001 }]
  },
  services: { enrollments: asFunction(openEnrollments).singleton() },
  fills: [
    connectionSlot.fillWith((deps: Deps) => ({ welcome: ({ clientId }) => welcomeParts(deps, clientId) })),
    revokingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteUnused),
    removingSlot.fillWith(({ enrollments }: Deps) => enrollments.deleteAll),
    unusedCodes
  ],
  messages,
  preAuthHandlers: [respond(Redeem, redeem)],
  routes,
  commands
})
