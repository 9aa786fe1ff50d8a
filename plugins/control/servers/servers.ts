// The servers of a store, of which this process is one.
import { openAlone } from './alone.ts'
import type { OwnServers, ServersOptions } from './own-servers.ts'
import { openSeveral } from './several.ts'

export const openServers = (options: ServersOptions): OwnServers =>
  options.store.signals === null ? openAlone(options) : openSeveral(options, options.store.signals)
