import { hostSlot } from '../../kernel/http/host.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { Repeat } from './entities.ts'
import * as rows from './errors.ts'
import { openHttp } from './http.ts'
import { Http0001 } from './migrations/0001-repeat.ts'
import { keys, settingsOf } from './settings.ts'

export default definePlugin({
  name: 'http',
  version: '1.0.0',
  kernel: '^1.0.0',
  keys,
  codes: Object.values(rows),
  store: {
    entities: [Repeat],
    migrations: [{ name: '0001-repeat', class: Http0001 }]
  },
  fills: [
    hostSlot.fillWith(
      ({ config }: Kernel<typeof keys>) =>
        options =>
          openHttp({ ...options, ...settingsOf(config) })
    )
  ]
})
