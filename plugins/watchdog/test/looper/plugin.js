// A plugin that misbehaves: it holds the server up for two seconds.
import { definePlugin, defineRoute, Type } from 'sluice/plugin'

const spin = defineRoute({
  method: 'POST',
  url: '/v1/spin',
  action: 'spin',
  access: 'superadmin',
  status: 204,
  summary: 'Spins.',
  schema: () => ({ reply: Type.Void() }),
  async run() {
    const end = performance.now() + 2_000
    while (performance.now() < end);
  }
})

export default definePlugin({ name: 'looper', version: '1.0.0', kernel: '^1.0.0', routes: [spin] })
