import { asFunction } from 'awilix'
import { messages } from '../../agent/wire/next-pin.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { NextPinRow, SealedRow } from './entities.ts'
import { Certificate0001 } from './migrations/0001-certificate.ts'
import { type NextPins, openNextPins } from './next-pins.ts'
import { routes } from './routes.ts'
import { keys } from './settings.ts'
import { storeKeyUnusable } from './store-key.ts'

interface Deps extends Kernel<typeof keys> {
  readonly nextPins: NextPins
}

export default definePlugin<Deps>({
  name: 'certificate',
  version: '1.0.0',
  description: 'The certificate of the control stream.',
  kernel: '^2.0.0',
  keys,
  codes: [storeKeyUnusable],
  store: {
    entities: [NextPinRow, SealedRow],
    migrations: [{ name: '0001-certificate', class: Certificate0001 }]
  },
  services: { nextPins: asFunction(openNextPins).singleton() },
  fills: [connectionSlot.fillWith(({ nextPins }: Deps) => ({ joined: nextPins.announceTo }))],
  messages,
  routes,
  commands,
  start: ({ deps: { nextPins } }) => nextPins.load()
})
