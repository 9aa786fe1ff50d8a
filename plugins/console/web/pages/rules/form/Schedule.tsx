import { Button, Group, Stack, TextInput } from '@mantine/core'
import { fieldError } from '../../../parts/form/field-error.ts'
import { isObject, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Day = (typeof days)[number]

interface Window {
  readonly days: readonly Day[]
  readonly from: string
  readonly to: string
}

interface Props {
  readonly value: unknown
  readonly onChange: (value: Values | undefined) => void
  readonly error: Error | null
}

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone
const officeHours: Window = { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '18:00' }

/** Edits the weekly opening hours of the rule. */
export function Schedule({ value, onChange, error }: Props) {
  const schedule = isObject(value) ? value : null
  const windows = Array.isArray(schedule?.['windows']) ? (schedule['windows'] as Window[]) : []
  const zone = typeof schedule?.['time_zone'] === 'string' ? schedule['time_zone'] : browserZone
  const change = (next: readonly Window[], time_zone = zone): void =>
    onChange(next.length === 0 ? undefined : { time_zone, windows: next })
  return (
    <fieldset className="fields">
      <legend>{text.fields['schedule']}</legend>
      <Stack gap="sm">
        <p className="hint">{windows.length === 0 ? text.ruleForm.always : text.ruleForm.scheduleHint}</p>
        {windows.map((window, i) => (
          <WindowLine
            // biome-ignore lint/suspicious/noArrayIndexKey: a window has no id
            key={i}
            at={i}
            window={window}
            error={error}
            onChange={next => change(windows.with(i, next))}
            onRemove={() => change(windows.toSpliced(i, 1))}
          />
        ))}
        <Group align="end">
          <Button variant="default" size="xs" onClick={() => change([...windows, officeHours])}>
            {text.ruleForm.addWindow}
          </Button>
        </Group>
        {windows.length > 0 && (
          <TextInput
            label={text.ruleForm.timeZone}
            value={zone}
            list="time-zones"
            onChange={event => change(windows, event.currentTarget.value)}
            error={fieldError(error, 'schedule.time_zone')}
          />
        )}
        <datalist id="time-zones">
          {Intl.supportedValuesOf('timeZone').map(name => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {fieldError(error, 'schedule') !== null && (
          <p className="wrong" role="alert">
            {fieldError(error, 'schedule')}
          </p>
        )}
      </Stack>
    </fieldset>
  )
}

interface LineProps {
  readonly at: number
  readonly window: Window
  readonly error: Error | null
  readonly onChange: (window: Window) => void
  readonly onRemove: () => void
}

function WindowLine({ at, window, error, onChange, onRemove }: LineProps) {
  const path = `schedule.windows.${at}`
  const windowError = fieldError(error, path) ?? fieldError(error, `${path}.days`, 'parts')
  const time = (key: 'from' | 'to') => ({
    'aria-label': `${text.ruleForm[key]} ${at + 1}`,
    value: window[key],
    placeholder: '08:00',
    onChange: (event: { readonly currentTarget: HTMLInputElement }) =>
      onChange({ ...window, [key]: event.currentTarget.value }),
    error: fieldError(error, `${path}.${key}`),
    w: 90
  })
  return (
    <div>
      <Group gap="xs" align="center">
        {days.map(day => {
          const isOn = window.days.includes(day)
          return (
            <Button
              key={day}
              size="compact-sm"
              variant={isOn ? 'filled' : 'default'}
              aria-pressed={isOn}
              onClick={() =>
                onChange({
                  ...window,
                  days: days.filter(name => (name === day ? !isOn : window.days.includes(name)))
                })
              }
            >
              {text.ruleForm.days[day]}
            </Button>
          )
        })}
        <TextInput {...time('from')} />–<TextInput {...time('to')} />
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={onRemove}
          aria-label={text.ruleForm.removeWindow(String(at + 1))}
        >
          ✕
        </Button>
      </Group>
      {windowError !== null && (
        <p className="wrong" role="alert">
          {windowError}
        </p>
      )}
    </div>
  )
}
