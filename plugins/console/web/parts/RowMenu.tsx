import { Button, Menu } from '@mantine/core'
import { text } from '../text/text.ts'

export interface RowAction {
  readonly label: string
  readonly run: () => void
  readonly isDangerous?: true
}

/** What can be done to a row of a list, behind one button: a row has no room for more. */
export const RowMenu = ({ of, actions }: { readonly of: string; readonly actions: readonly RowAction[] }) => (
  <Menu position="bottom-end">
    <Menu.Target>
      <Button size="compact-sm" variant="default" aria-label={text.actions(of)}>
        ⋯
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {actions.map(({ label, run, isDangerous }) => (
        <Menu.Item key={label} onClick={run} {...(isDangerous && { c: 'var(--bad)' })}>
          {label}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
)
