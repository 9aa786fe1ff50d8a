import { Type } from 'typebox'

export const keys = Type.Object({
  range_rule_max_ports: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 1024,
    hot: true,
    description: 'Maximum number of ports of one rule.'
  })
})
