import { Type } from 'typebox'
import type { PushOptions } from '../rules/exports.ts'
import { healthCheckKey } from './wire.ts'

export const pushOptions: PushOptions = {
  args: {
    health_interval: Type.Optional(
      Type.Integer({ description: 'Seconds between connection attempts to each target, 1 to 3600.' })
    )
  },
  body: ({ health_interval: secs }) => (secs === undefined ? {} : { [healthCheckKey]: secs })
}
