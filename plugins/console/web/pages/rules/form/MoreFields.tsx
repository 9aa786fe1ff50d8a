import { SimpleGrid, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { errorOf } from '../../../api/api-error.ts'
import { SchemaField } from '../../../parts/schema-form/SchemaField.tsx'
import { kindOf, type Schema, type Schemas, settled, titleOf } from '../../../parts/schema-form/schema.ts'
import { given, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Edge } from '../../clients/queries.ts'
import { lacking } from './offers.ts'
import { Schedule } from './Schedule.tsx'
import { meansWith, protocolOf, sectionsOf } from './sections.ts'

interface Props {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
  readonly schemas: Schemas
  readonly schema: Schema
  readonly keys: readonly string[]
  readonly chosen: readonly Edge[]
}

/** The further fields, in sections that are closed while they have no value. */
export function Fields({ keys, ...props }: Props) {
  const { values, error, schema, chosen } = props
  const ofProtocol = keys.filter(key => (protocolOf[key] ?? values['protocol']) === values['protocol'])
  const requires = (key: string) => schema.properties?.[key]?.['x-requires']
  const offered = ofProtocol.filter(key => lacking(chosen, requires(key)).length === 0)
  const others = ofProtocol.filter(key => !offered.includes(key))
  const [wrong] = (error === null ? '' : (errorOf(error).field ?? '')).split('.')
  const names = [...new Set(others.flatMap(key => lacking(chosen, requires(key))))].map(
    edge => edge.client_name
  )
  return (
    <div>
      {sectionsOf(offered).map(({ name, keys: own }) => (
        <Section
          key={name}
          title={text.ruleForm.sections[name]}
          isWrong={own.includes(wrong ?? '')}
          set={own.filter(key => isSet(key, values)).map(key => nameOf(key, schema))}
        >
          {own.map(key => (
            <RuleField key={key} name={key} {...props} />
          ))}
        </Section>
      ))}
      {others.length > 0 && (
        <Text size="sm" c="dimmed" mt="sm">
          {text.ruleForm.lacking(names.join(', '), others.map(key => nameOf(key, schema)).join(', '))}
        </Text>
      )}
    </div>
  )
}

const nameOf = (key: string, { properties }: Schema): string =>
  text.fields[key] ?? titleOf(key, properties?.[key] ?? {})

/** Whether the rule has a value there that means something. */
function isSet(key: string, values: Values): boolean {
  const own = given(values[key])
  if (own === undefined || own === false || key === 'placed_by') return false
  return meansWith[key]?.some(other => isSet(other, values)) ?? !(Array.isArray(own) && own.length === 0)
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
  return kindOf(settled(own, schemas)) === 'object' ? <div className="whole">{field}</div> : field
}

interface SectionProps {
  readonly title: string
  readonly set: readonly string[] // names of the fields with a value
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
