import { Button, Stack, Text, TextInput } from '@mantine/core'
import { fieldError } from '../../../parts/form/field-error.ts'
import { NumberField } from '../../../parts/form/NumberField.tsx'
import { SchemaField } from '../../../parts/schema-form/SchemaField.tsx'
import type { Schema, Schemas } from '../../../parts/schema-form/schema.ts'
import { isObject, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import { clientsLacking, severalTargets } from './offers.ts'
import { PathField } from './PathField.tsx'
import { type PathOffers, pathIn } from './RulePath.tsx'
import { targetPropertiesIn } from './target-properties.ts'

export interface TargetValues {
  readonly host: string
  readonly port?: number | undefined
  readonly priority?: number | undefined
  readonly weight?: number | undefined
  readonly [key: string]: unknown // properties of plugins
}

interface Props {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
  readonly allowed: readonly string[] | null // allowed by the grants
  readonly schemas: Schemas | null // null: only the basic fields
  readonly selectedClients: readonly Client[]
  readonly paths: PathOffers | null
}

/** The properties of plugins that the form offers, with their schemas. */
type Properties = readonly (readonly [string, Schema])[]

const maxTargets = 8

export const targetsIn = ({ targets }: Values): readonly TargetValues[] =>
  Array.isArray(targets) ? (targets.filter(isObject) as unknown as TargetValues[]) : []

/** Targets of the rule. A single target has only host and port; several have priority and weight. */
export function Targets({ values, set, error, allowed, schemas, selectedClients, paths }: Props) {
  const targets = targetsIn(values)
  const mayHaveSeveral = schemas !== null && clientsLacking(selectedClients, severalTargets).length === 0
  const change = (next: readonly TargetValues[]): void => set({ ...values, targets: next })
  const isBalanced =
    values['balance'] !== undefined && values['balance'] !== null && values['balance'] !== 'priority'
  return (
    <fieldset className="targets">
      <legend>{text.rules.targets}</legend>
      <Stack gap="sm">
        {targets.map((target, i) => (
          <TargetLine
            // biome-ignore lint/suspicious/noArrayIndexKey: a target has no id
            key={i}
            at={i}
            target={target}
            error={error}
            isOne={targets.length === 1}
            isBalanced={isBalanced}
            properties={offeredProperties(schemas, selectedClients)}
            schemas={schemas}
            paths={targets.length > 1 ? paths : null}
            onChange={next => change(targets.with(i, next))}
            onRemove={() => change(targets.toSpliced(i, 1))}
          />
        ))}
        {targets.length > 1 && <p className="hint">{text.ruleForm.targetsHint}</p>}
        {allowed && (
          <Text size="sm" c="dimmed">
            {text.ruleForm.allowedTargets(allowed.join(', '))}
          </Text>
        )}
        {fieldError(error, 'targets') !== null && (
          <p className="wrong" role="alert">
            {fieldError(error, 'targets')}
          </p>
        )}
        {mayHaveSeveral && targets.length < maxTargets && (
          <Button
            variant="default"
            size="xs"
            style={{ alignSelf: 'start' }}
            onClick={() => change([...targets, { host: '' }])}
          >
            {text.ruleForm.addTarget}
          </Button>
        )}
      </Stack>
    </fieldset>
  )
}

interface LineProps {
  readonly properties: Properties
  readonly schemas: Schemas | null
  readonly paths: PathOffers | null
  readonly at: number
  readonly target: TargetValues
  readonly error: Error | null
  readonly isOne: boolean
  readonly isBalanced: boolean
  readonly onChange: (target: TargetValues) => void
  readonly onRemove: () => void
}

function TargetLine(props: LineProps) {
  const { at, target, error, isOne, isBalanced, onChange, onRemove } = props
  /** Only the first line shows labels; the others have labels for screen readers. */
  const named = (label: string) =>
    at === 0 ? { label } : { 'aria-label': text.ruleForm.ofTarget(label, String(at + 1)) }
  const number = (key: 'port' | 'priority' | 'weight') => ({
    name: `targets.${at}.${key}`,
    value: target[key] ?? '',
    onChange: (next: number | '') => onChange({ ...target, [key]: next === '' ? undefined : next }),
    error: fieldError(error, `targets.${at}.${key}`)
  })
  return (
    <div className="target" data-many={isOne ? undefined : true}>
      <TextInput
        {...named(text.rules.host)}
        description={at === 0 ? text.rules.hostHint : undefined}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        name={`targets.${at}.host`}
        value={target.host}
        onChange={event => onChange({ ...target, host: event.currentTarget.value })}
        error={fieldError(error, `targets.${at}.host`) ?? fieldError(error, `targets.${at}`)}
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <NumberField {...named(text.rules.targetPort)} required {...number('port')} />
      {!isOne && (
        <NumberField {...named(text.ruleForm.priority)} placeholder={String(at)} {...number('priority')} />
      )}
      {!isOne && isBalanced && (
        <NumberField {...named(text.ruleForm.weight)} placeholder="1" {...number('weight')} />
      )}
      {!isOne && (
        <Button
          variant="subtle"
          color="gray"
          size="sm"
          data-first={at === 0 || undefined}
          onClick={onRemove}
          aria-label={text.ruleForm.removeTarget(String(at + 1))}
        >
          ✕
        </Button>
      )}
      <PluginProperties {...props} />
      {props.paths && <TargetPath {...props} {...props.paths} />}
    </div>
  )
}

const inherited = 'rule'

/** The path of one of several targets. */
const TargetPath = ({ at, target, error, clients, offers, onChange }: LineProps & PathOffers) => (
  <div className="whole">
    <PathField
      name={`targets.${at}.via`}
      label={text.ruleForm.ofTarget(text.links.path, String(at + 1))}
      path={pathIn(target)}
      clients={clients}
      offers={offers}
      inherit={{ value: inherited, label: text.links.asRule, isChosen: target['via'] === undefined }}
      error={fieldError(error, `targets.${at}.via`, 'parts')}
      onChange={path => onChange({ ...target, via: path ?? undefined })}
    />
  </div>
)

/** The properties that plugins add to the target. */
const PluginProperties = ({ at, target, error, properties, schemas, onChange }: LineProps) =>
  schemas &&
  properties.map(([key, schema]) => (
    <div className="whole" key={key}>
      <SchemaField
        name={`targets.${at}.${key}`}
        schema={schema}
        schemas={schemas}
        value={target[key]}
        onChange={value => onChange({ ...target, [key]: value })}
        error={error}
      />
    </div>
  ))

/** Returns the properties of targets that all selected clients support. */
const offeredProperties = (schemas: Schemas | null, chosen: readonly Client[]): Properties =>
  Object.entries(targetPropertiesIn(schemas)).filter(
    ([, schema]) => clientsLacking(chosen, schema['x-requires']).length === 0
  )
