import { asFunction } from 'awilix'
import { messages } from '../../agent/wire/endpoints.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { type Endpoint, openEndpoint } from './endpoint.ts'
import { type EndpointAnnouncer, openEndpointAnnouncer } from './endpoint-announcer.ts'
import { endpointInvalid, endpointNotInCertSan } from './endpoint-fault.ts'
import { Override } from './entities.ts'
import { AdvertisedEndpoint0001 } from './migrations/0001-advertised-endpoint.ts'
import { routes } from './routes.ts'

interface Deps extends Kernel {
  readonly endpoint: Endpoint
  readonly endpointAnnouncer: EndpointAnnouncer
}

export default definePlugin<Deps>({
  name: 'advertised-endpoint',
  version: '1.0.0',
  description: 'The address at which agents reach the server.',
  kernel: '^2.0.0',
  needs: { certificate: '^1.0.0' },
  codes: [endpointInvalid, endpointNotInCertSan],
  store: {
    entities: [Override],
    migrations: [{ name: '0001-advertised-endpoint', class: AdvertisedEndpoint0001 }]
  },
  exports: { endpoint: asFunction(openEndpoint).singleton() },
  services: { endpointAnnouncer: asFunction(openEndpointAnnouncer).singleton() },
  fills: [connectionSlot.fillWith(({ endpointAnnouncer }: Deps) => ({ welcome: endpointAnnouncer.welcome }))],
  messages,
  routes,
  commands,
  async start({ deps: { endpoint, log, store } }) {
    const fault = await store.read(endpoint.check)
    if (fault)
      log.warn('endpoint.unusable', `no agent can be enrolled: ${fault.message}`, {
        code: fault.errorCode.code
      })
  }
})
