import { bytes, count, rate } from '../../../format.ts'
import { choiceName } from '../../../parts/schema-form/control-props.ts'
import { titleOf, unitOf } from '../../../parts/schema-form/schema.ts'
import { isObject } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'

/** Formats a field value for people: 'Bandwidth: 50 Mbit/s, Connections: 100'. */
export function formatValue(value: unknown, key = ''): string {
  if (value === true) return text.ruleDetail.yes
  if (typeof value === 'number') return amount(value, key)
  if (Array.isArray(value)) return value.map(part => formatValue(part, key)).join(', ')
  if (!isObject(value)) return choiceName(key, String(value))
  const prefix =
    key === 'labels'
      ? (name: string) => `${name}=`
      : (name: string) => `${text.fields[name] ?? titleOf(name, {})}: `
  return Object.entries(value)
    .filter(([, part]) => part !== null)
    .map(([name, part]) => prefix(name) + formatValue(part, name))
    .join(', ')
}

function amount(value: number, key: string): string {
  const unit = unitOf(key)
  if (unit === 'bit/s') return rate(value / 8)
  if (unit === 'B') return bytes(value)
  return unit === undefined ? count(value) : `${count(value)} ${unit}`
}
