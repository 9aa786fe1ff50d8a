import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

const pushOptions = pushOptionsSlot.fill({
  args: {
    health_interval: Type.Optional(
      Type.Integer({ description: 'Seconds between connection attempts to each target, 1 to 3600.' })
    )
  },
  body: ({ health_interval: secs }) => (secs === undefined ? {} : { health_check_interval_secs: secs })
})

export const fills = [pushOptions]
