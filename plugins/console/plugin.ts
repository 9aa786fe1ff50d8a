import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { type Site, siteSlot } from '../http/exports.ts'
import { type Deps as ConsoleDeps, openConsole } from './site.ts'

interface Deps extends ConsoleDeps {
  readonly site: Site
}

export default definePlugin<Deps>({
  name: 'console',
  version: '1.0.0',
  description: 'Pages for a browser.',
  kernel: '^2.0.0',
  needs: { auth: '^1.0.0', http: '^1.0.0' },
  services: { site: asFunction((deps: Deps) => openConsole(deps)).singleton() },
  fills: [siteSlot.fillWith(({ site }: Deps) => site)]
})
