// Light, dark, or as the system has it.
import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core"
import IconCheck from "@tabler/icons-react/dist/esm/icons/IconCheck.mjs"
import IconDeviceDesktop from "@tabler/icons-react/dist/esm/icons/IconDeviceDesktop.mjs"
import IconMoon from "@tabler/icons-react/dist/esm/icons/IconMoon.mjs"
import IconSun from "@tabler/icons-react/dist/esm/icons/IconSun.mjs"

const schemes = [
  { value: "light", name: "Light", icon: IconSun },
  { value: "dark", name: "Dark", icon: IconMoon },
  { value: "auto", name: "As the system", icon: IconDeviceDesktop }
] as const

export const Scheme = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const Current = schemes.find(({ value }) => value === colorScheme)?.icon ?? IconDeviceDesktop
  return (
    <Menu position="bottom-end" width={190} withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Colour scheme">
          <Current size={18} stroke={1.7} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown aria-label="Colour scheme">
        {schemes.map(({ icon: Symbol, name, value }) => (
          <Menu.Item
            key={value}
            leftSection={<Symbol size={16} stroke={1.7} aria-hidden />}
            rightSection={value === colorScheme ? <IconCheck size={15} aria-label="chosen" /> : null}
            onClick={() => setColorScheme(value)}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
