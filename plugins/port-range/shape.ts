// Rules with ports from listen_port to listen_port_end. Each maps to a port of the target, counted from its first port.
import type { Static } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, type ShapeSupport } from '../rules/exports.ts'
import type { keys } from './settings.ts'
import { capability } from './wire.ts'

export const rangeInvalid = defineCode('validation.range_invalid', 400, 3)
export const rangeTooWide = defineCode('validation.range_too_wide', 400, 3)

const bodyField = 'listen_port_end'
const lastPort = 65_535

export const shape = (config: Static<typeof keys>): ShapeSupport => ({
  shape: 'range',
  requires: { capability, refusal: fieldUnsupported },
  bodyField,
  errors: [rangeInvalid, rangeTooWide],
  validate({ listenFrom, listenTo, targets }) {
    const { range_rule_max_ports: maxPorts } = config
    const extent = listenTo - listenFrom
    if (extent < 0) throw refusal(rangeInvalid, `is below listen_port ${listenFrom}`, 'minimum')
    if (extent >= maxPorts)
      throw refusal(rangeTooWide, `makes ${extent + 1} ports; at most ${maxPorts} are allowed`, 'maximum')
    const beyond = targets.find(({ port }) => port + extent > lastPort)
    if (!beyond) return
    const needed = `needs ports ${beyond.port} to ${beyond.port + extent} of ${beyond.host}`
    throw refusal(rangeInvalid, `${needed}; ${lastPort} is the last`, 'maximum')
  }
})

const refusal = (row: typeof rangeInvalid, why: string, reason: string): Fault =>
  new Fault(row, `/${bodyField} ${why}`, { details: { field: `/${bodyField}`, reason } })
