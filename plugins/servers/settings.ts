import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Static, Type } from 'typebox'

export const keys = Type.Object({
  server_id: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description:
        'Name of this server in its store. Default: the host name and a random part, new at each start.'
    })
  )
})

/** Returns the configured name of this server, or makes one. */
export const serverIdIn = (config: Static<typeof keys>): string =>
  config.server_id || `${hostname().slice(0, 50)}-${randomBytes(4).toString('hex')}`
