import { Button, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import { fieldError } from '../../../parts/form/field-error.ts'
import { isObject, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'

export interface TargetValues {
  readonly host: string
  readonly port?: number | undefined
  readonly priority?: number | undefined
  readonly weight?: number | undefined
}

interface Props {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
  readonly allowed: readonly string[] | null // allowed by the grants
  readonly mayHaveSeveral: boolean // all selected clients support it
}

const maxTargets = 8

export const targetsIn = ({ targets }: Values): readonly TargetValues[] =>
  Array.isArray(targets) ? (targets.filter(isObject) as unknown as TargetValues[]) : []

/** Targets of the rule. A single target has only host and port; several have priority and weight. */
export function Targets({ values, set, error, allowed, mayHaveSeveral }: Props) {
  const targets = targetsIn(values)
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
  readonly at: number
  readonly target: TargetValues
  readonly error: Error | null
  readonly isOne: boolean
  readonly isBalanced: boolean
  readonly onChange: (target: TargetValues) => void
  readonly onRemove: () => void
}

function TargetLine({ at, target, error, isOne, isBalanced, onChange, onRemove }: LineProps) {
  /** Only the first line shows labels; the others have labels for screen readers. */
  const named = (label: string) =>
    at === 0 ? { label } : { 'aria-label': text.ruleForm.ofTarget(label, String(at + 1)) }
  const number = (key: 'port' | 'priority' | 'weight', [min, max]: readonly [number, number]) => ({
    value: target[key] ?? '',
    onChange: (next: number | string) =>
      onChange({ ...target, [key]: typeof next === 'number' ? next : undefined }),
    error: fieldError(error, `targets.${at}.${key}`),
    min,
    max,
    clampBehavior: 'none' as const,
    allowDecimal: false,
    hideControls: true,
    inputMode: 'numeric' as const
  })
  return (
    <div className="target" data-many={isOne ? undefined : true}>
      <TextInput
        {...named(text.rules.host)}
        description={at === 0 ? text.rules.hostHint : undefined}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={target.host}
        onChange={event => onChange({ ...target, host: event.currentTarget.value })}
        error={fieldError(error, `targets.${at}.host`) ?? fieldError(error, `targets.${at}`)}
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <NumberInput {...named(text.rules.targetPort)} required {...number('port', [1, 65_535])} />
      {!isOne && (
        <NumberInput
          {...named(text.ruleForm.priority)}
          placeholder={String(at)}
          {...number('priority', [0, 65_535])}
        />
      )}
      {!isOne && isBalanced && (
        <NumberInput {...named(text.ruleForm.weight)} placeholder="1" {...number('weight', [0, 256])} />
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
    </div>
  )
}
