package powertest

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BMC is a management controller that speaks IPMI over the network.
type BMC struct {
	Address string
	// Stop keeps it from answering.
	Stop func()
	file string
}

// SensorName is the sensor in watts of [StartSensor]'s controller.
const SensorName = "System Power"

// SensorStep is its step in watts.
const SensorStep = 2

// StartSensor runs ipmi_sim with one sensor in watts.
func StartSensor(t *testing.T, s *Script) *BMC {
	t.Helper()
	program := need(t, "ipmi_sim", "openipmi")
	dir := t.TempDir()
	port := freePort(t)
	b := &BMC{Address: fmt.Sprintf("127.0.0.1:%d", port), file: filepath.Join(dir, "raw")}
	s.follow(t, b.file, func(watts int) string { return fmt.Sprintln(watts / SensorStep) })
	files := map[string]string{
		"lan.conf": fmt.Sprintf(`name "tare"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %d
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 2 true "%s" "%s" admin 10 none md2 md5 straight
`, port, BMCUser, BMCWord),
		"commands": fmt.Sprintf(`mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
main_sdr_add 0x20 %s
sensor_add 0x20 0 1 0x0b 1 poll 50 file "%s"
sensor_set_value 0x20 0 1 %d 0
mc_enable 0x20
`, record(), b.file, s.now()/SensorStep),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Stop = run(t, dir, nil, program, "-c", "lan.conf", "-f", "commands", "-s", "state", "-n")
	ready(t, "ipmi_sim", func() error { return pong(b.Address) })
	return b
}

// record is the sensor's in the repository: IPMI 2.0, table 43-1.
func record() string {
	body := []byte{
		0x20, 0, 1, // owner, its LUN, the sensor's number
		0x07, 1, 0x67, 0x48, 0x0b, 1, // entity, initialization, capabilities, other units, threshold
		0, 0, 0, 0, 0, 0, // masks
		0, 6, 0, 0, // unsigned, watts, no modifier, linear
		SensorStep, 0, 0, 0, 0, 0, // M, tolerance, B, accuracy, exponents
		0, 0, 0, 0, 255, 0, // characteristics, nominal, normal, sensor's most and least
		0, 0, 0, 0, 0, 0, 0, 0, // thresholds, hysteresis
		0, 0, 0, // reserved, OEM
	}
	body = append(append(body, 0xc0|byte(len(SensorName))), SensorName...)
	all := append([]byte{0, 0, 0x51, 1, byte(len(body))}, body...)
	var words []string
	for _, c := range all {
		words = append(words, "0x"+strconv.FormatUint(uint64(c), 16))
	}
	return strings.Join(words, " ")
}

//go:embed dcmi.py
var dcmi string

// StartDCMI runs a controller with DCMI's power reading, on pyghmi.
func StartDCMI(t *testing.T, s *Script) *BMC {
	t.Helper()
	need(t, "/usr/lib/python3/dist-packages/pyghmi", "python3-pyghmi")
	dir := t.TempDir()
	port := freePort(t)
	b := &BMC{Address: fmt.Sprintf("127.0.0.1:%d", port), file: filepath.Join(dir, "watts")}
	s.follow(t, b.file, func(watts int) string { return fmt.Sprintln(watts) })
	if err := os.WriteFile(filepath.Join(dir, "dcmi.py"), []byte(dcmi), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Stop = run(t, dir, nil, "/usr/bin/python3", "dcmi.py", strconv.Itoa(port), BMCUser, BMCWord, b.file)
	ready(t, "pyghmi", func() error { return pong(b.Address) })
	return b
}

// Say gives the controller something else to tell: of DCMI "off", "nonsense" or "silent".
func (b *BMC) Say(t *testing.T, text string) {
	t.Helper()
	if err := replace(b.file, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// pong asks a controller for its authentication capabilities (IPMI 2.0,
// section 22.13), which anyone may.
func pong(address string) error {
	question := []byte{6, 0, 0xff, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0x20, 0x18, 0xc8, 0x81, 0, 0x38, 0x8e, 4, 0xb5}
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Write(question); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1500))
	return err
}
