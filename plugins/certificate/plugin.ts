import { asFunction } from 'awilix'
import { messages } from '../../agent/wire/next-pin.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { NextPinRow, SealedRow } from './entities.ts'
import { LiveRotation, rotationRefused } from './live-rotation.ts'
import { Certificate0001 } from './migrations/0001-certificate.ts'
import { type NextPins, openNextPins } from './next-pins.ts'
import { routes } from './routes.ts'
import { checkConfig, keys } from './settings.ts'
import { pinnedSlot } from './slots.ts'
import { storeKeyUnusable } from './store-key.ts'

interface Deps extends Kernel<typeof keys> {
  readonly nextPins: NextPins
  readonly liveRotation: LiveRotation
}

export default definePlugin<Deps>({
  name: 'certificate',
  version: '1.0.0',
  description: 'The certificate of the control stream.',
  kernel: '^2.0.0',
  keys,
  checkConfig,
  codes: [storeKeyUnusable, rotationRefused],
  store: {
    entities: [NextPinRow, SealedRow],
    migrations: [{ name: '0001-certificate', class: Certificate0001 }]
  },
  services: { nextPins: asFunction(openNextPins).singleton() },
  exports: { liveRotation: asFunction((deps: Deps) => new LiveRotation(deps)).singleton() },
  slots: [pinnedSlot],
  fills: [
    connectionSlot.fillWith(({ liveRotation }: Deps) => ({ joined: peer => liveRotation.joined(peer) }))
  ],
  messages,
  routes,
  commands,
  async start({ deps: { nextPins, liveRotation }, defer }) {
    await nextPins.load()
    defer(await liveRotation.start())
  }
})
