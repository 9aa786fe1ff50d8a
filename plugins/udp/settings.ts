import { Type } from 'typebox'

export const keys = Type.Object({
  udp_max_flows_per_rule: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 1024,
    description: 'Maximum UDP flows of one rule on all of its ports; datagrams of further flows are dropped.'
  }),
  udp_flow_idle_secs: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 60,
    description: 'A UDP flow ends after this time of silence in both directions.'
  })
})
