import { SimpleGrid, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { toApiError } from '../../../api/api-error.ts'
import { SchemaField } from '../../../parts/schema-form/SchemaField.tsx'
import {
  controlKind,
  resolveSchema,
  type Schema,
  type Schemas,
  titleOf
} from '../../../parts/schema-form/schema.ts'
import { type Values, withoutEmpty } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import { formatValue } from '../detail/format-value.ts'
import { clientsLacking } from './offers.ts'
import { Schedule } from './Schedule.tsx'
import { dependsOn, groupIntoSections, protocolOf } from './sections.ts'

interface Props {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
  readonly schemas: Schemas
  readonly schema: Schema
  readonly keys: readonly string[]
  readonly selectedClients: readonly Client[]
}

/** All other fields, in sections. A section without values is closed. */
export function MoreFields({ keys, ...props }: Props) {
  const { values, error, schema, selectedClients } = props
  const protocolKeys = keys.filter(key => (protocolOf[key] ?? values['protocol']) === values['protocol'])
  const requires = (key: string) => schema.properties?.[key]?.['x-requires']
  const offered = protocolKeys.filter(key => clientsLacking(selectedClients, requires(key)).length === 0)
  const others = protocolKeys.filter(key => !offered.includes(key))
  const wrong = new Set(
    error === null ? [] : toApiError(error).wrongFields.map(({ field }) => field.split('.')[0])
  )
  const names = [...new Set(others.flatMap(key => clientsLacking(selectedClients, requires(key))))].map(
    client => client.client_name
  )
  return (
    <div>
      {groupIntoSections(offered).map(({ name, keys: own }) => (
        <Section
          key={name}
          title={text.ruleForm.sections[name]}
          isWrong={own.some(key => wrong.has(key))}
          set={own.filter(key => isSet(key, values)).map(key => summaryOf(key, values[key], schema))}
        >
          {own.map(key => (
            <RuleField key={key} name={key} {...props} />
          ))}
        </Section>
      ))}
      {others.length > 0 && (
        <Text size="sm" c="dimmed" mt="sm">
          {text.ruleForm.unsupported(names.join(', '), others.map(key => nameOf(key, schema)).join(', '))}
        </Text>
      )}
    </div>
  )
}

const nameOf = (key: string, { properties }: Schema): string =>
  text.fields[key] ?? titleOf(key, properties?.[key] ?? {})

/** 'Labels: env=prod'. A schedule is too long for a line. */
const summaryOf = (key: string, value: unknown, schema: Schema): string =>
  key === 'schedule' ? nameOf(key, schema) : `${nameOf(key, schema)}: ${formatValue(value, key)}`

/** True if the rule has a value for the field that has an effect. */
function isSet(key: string, values: Values): boolean {
  const own = withoutEmpty(values[key])
  if (own === undefined || own === false || key === 'placed_by') return false
  return dependsOn[key]?.some(other => isSet(other, values)) ?? !(Array.isArray(own) && own.length === 0)
}

function RuleField({
  name,
  values,
  set,
  error,
  schema,
  schemas
}: Omit<Props, 'keys' | 'chosen'> & { readonly name: string }) {
  const own = schema.properties?.[name] ?? {}
  const onChange = (value: unknown): void => set({ ...values, [name]: value })
  if (name === 'schedule') return <Schedule value={values[name]} onChange={onChange} error={error} />
  const field = (
    <SchemaField
      name={name}
      schema={own}
      schemas={schemas}
      value={values[name]}
      onChange={onChange}
      error={error}
    />
  )
  return controlKind(resolveSchema(own, schemas)) === 'object' ? <div className="whole">{field}</div> : field
}

interface SectionProps {
  readonly title: string
  readonly set: readonly string[] // fields with a value
  readonly isWrong: boolean
  readonly children: ReactNode
}

function Section({ title, set, isWrong, children }: SectionProps) {
  const [isOpen, open] = useState(set.length > 0)
  useEffect(() => {
    if (isWrong) open(true)
  }, [isWrong])
  return (
    <details className="fold" open={isOpen} onToggle={event => open(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong>
        <span className="set">{set.join(', ')}</span>
      </summary>
      {isOpen && (
        <Stack p="md" gap="md">
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg" verticalSpacing="md">
            {children}
          </SimpleGrid>
        </Stack>
      )}
    </details>
  )
}
