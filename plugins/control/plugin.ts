import { asFunction } from 'awilix'
import { messages } from '../../agent/wire/next-pin.ts'
import { controlSlot } from '../../kernel/control/host.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { controlMessages } from '../../kernel/wire/control.ts'
import { storeKeyUnusable } from './codes.ts'
import { commands } from './commands.ts'
import { openControl } from './control.ts'
import {
  CertificateRow,
  ClientGeneration,
  MirrorRow,
  NextPinRow,
  RequestRow,
  ResultRow,
  ServerRow,
  SessionRow,
  TaskRow
} from './entities.ts'
import { Control0001 } from './migrations/0001-next-pin.ts'
import { Control0002 } from './migrations/0002-generation.ts'
import { Control0003 } from './migrations/0003-servers.ts'
import { Control0004 } from './migrations/0004-certificate.ts'
import { type NextPins, openNextPins } from './next-pins.ts'
import { routes } from './routes.ts'
import { liveServers } from './servers/registry.ts'
import { keys } from './settings.ts'
import { sweepTokens } from './tokens.ts'

interface Deps extends Kernel<typeof keys> {
  readonly nextPins: NextPins
}

export default definePlugin<Deps>({
  name: 'control',
  version: '1.0.0',
  description: 'The certificate of the control stream.',
  kernel: '^2.0.0',
  keys,
  store: {
    entities: [
      NextPinRow,
      ClientGeneration,
      CertificateRow,
      ServerRow,
      TaskRow,
      SessionRow,
      RequestRow,
      ResultRow,
      MirrorRow
    ],
    migrations: [
      { name: '0001-next-pin', class: Control0001 },
      { name: '0002-generation', class: Control0002 },
      { name: '0003-servers', class: Control0003 },
      { name: '0004-certificate', class: Control0004 }
    ],
    servers: { since: '0003-servers', query: liveServers }
  },
  services: { nextPins: asFunction(openNextPins).singleton() },
  fills: [
    controlSlot.fill(openControl),
    connectionSlot.fillWith(({ nextPins }: Deps) => ({ joined: nextPins.joined })),
    metricsSlot.fillWith(({ control }: Deps) => control.metrics)
  ],
  codes: [storeKeyUnusable],
  messages: [...controlMessages, ...messages],
  routes,
  commands,
  async start({ deps, defer }) {
    await deps.nextPins.load()
    defer(await sweepTokens(deps))
  }
})
